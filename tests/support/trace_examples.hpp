/// A minimal file of every trace format.
#pragma once

#include <string_view>

namespace vtrain {

/// Name of each format, and a file with one job.
inline constexpr std::string_view kTraceExamples[][2] = {
    {"vtrain", "job_id,submit_s,num_gpus,duration_s\na,0,1,5\n"},
    {"tiresias",
     "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,606,vgg19,164,30\n"},
    {"batsim",
     "\n{\"jobs\":[{\"id\":\"0\",\"subtime\":0,\"res\":1,\"profile\":\"p\"}],\"profiles\":{\"p\":{\"type\":"
     "\"delay\","
     "\"delay\":3}}}"},
    {"itp", "job_id,submission_time,duration,num_gpu\na,0,5,1\n"},
    {"philly",
     "job_idx,vc,submit_time_s,submit_local,num_gpus,duration_s,source\n0,6214e9,0,2017-08-14 "
     "23:27:00,1,3613015,pcs\n"},
    {"philly-log",
     "[{\"jobid\":\"a\",\"submitted_time\":\"2017-10-01 "
     "00:00:00\",\"attempts\":[{\"start_time\":\"2017-10-01 "
     "00:00:01\",\"end_time\":\"2017-10-01 00:00:02\",\"detail\":[{\"ip\":\"m1\",\"gpus\":[\"gpu0\"]}]}]}]"},
    {"pollux", "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-01 00:00:00,5.0,1,5.0,a\n"},
    {"pcs", "app_id,submit_time,service,num_jobs,sleep_time,model_name\n0,0.0,5.0,1,0.0,M\n"},
    {"helios",
     "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
     "1,u,v,1,1,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:00:05,5,0\n"},
    {"acme",
     "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_"
     "time\n"
     "1,u,1,8,128,SFT,COMPLETED,2023-03-01 12:00:00+08:00,2023-03-01 12:00:00+08:00,2023-03-01 "
     "12:00:09+08:00,9,0,72\n"},
    {"pai-simulator", "job_id,user,num_gpu,num_cpu,num_inst,submit_time,duration\n5,u,0.5,6,1,60,100\n"},
    {"spot-gpu",
     "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
     "1,57,A10,15,1.0,1.0,10.0,100.0,HP\n"},
    {"openb",
     "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
     "scheduled_time\np,1,1,1,1000,,LS,Failed,0,5,0\n"},
    {"elasticflow",
     "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
     "a,0,40285,bert,21347,64,4,3890\n"},
    {"gavel", "LM (batch size 5)\tpython3 main.py\tlm\t--steps\t1\t20\t2\tgns\t1\t-1.0\t1418\t7\n"},
    {"muri",
     "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,"
     "resource_time_0,resource_time_1,resource_time_2,priority\n0,1,0,5,dqn,128,2450,1,490,446,8,0,1\n"},
    {"chronus",
     "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,"
     "expect_value_list,best_effort,job_type\n0,u,1,5,6,vgg16,7,1,11,10,0,strict\n"},
    {"jsonl", "{\"job_id\":\"a\",\"submit_s\":0,\"num_gpus\":1,\"duration_s\":5}\n"},
    {"swf", "1 0 3 5 2 -1 -1 2 60 -1 1 7 3 -1 -1 -1 -1 -1\n"},
    {"slurm-batch", "offset,name,nodes,cpus,gres,time_limit,sleep\n0,a,1,1,gpu:2,1,9\n"},
    {"sacct", "JobID|Submit|ElapsedRaw|AllocTRES\n1|2024-03-01T10:00:00|60|gres/gpu=8\n"},
    {"sia", "name,time,application,num_replicas,batch_size\nbert-0,107,bert,6,2048\n"},
};

}  // namespace vtrain
