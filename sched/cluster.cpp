#include "sched/cluster.hpp"
