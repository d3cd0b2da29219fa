#include "policies/registry.hpp"
