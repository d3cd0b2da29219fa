#include "traces/trace_format.hpp"
