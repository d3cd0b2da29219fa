/// Invented inputs for the arithmetic of the public vTrain release.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace vtrain {

/// A kernel trace and all-reduce tables for one prediction of the public vTrain release, in their own folder.
/// The plan has hidden size 64, tensor 2, data 4 and micro-batch 2.
class ReleaseFiles {
 public:
  ReleaseFiles() {
    // Every operator launches one kernel of 100 ns, 1,000 ns apart.
    std::string text;
    int time = 0;
    for (const char* name : {"forward start embeddings", "forward start transformer", "forward start logit",
                             "forward start loss", "backward start logit", "backward start transformer",
                             "backward start embeddings", "WU start embeddings", "WU start transformer"}) {
      time += 1000;
      const std::string at = std::to_string(time);
      text += at + ",0,TIMESTAMP,\"" + name + "\"\n" + at + ",1,RUNTIME,211,1," + at + "\n" + at +
              ",0,TIMESTAMP,\"end\"\n" + at + ",100,KERNEL,\"k\"," + at + "\n";
    }
    write("trace_64_2_2", text);
    for (const char* name : {"AR_GPU2_1M_1024M_LUT", "AR_GPU4_1M_1024M_LUT"}) {
      write(name, "size,time,busbw\n1048576,50,10\n1073741824,5000,200\n");
    }
  }

  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  testing::TemporaryFolder folder_;
};

}  // namespace vtrain
