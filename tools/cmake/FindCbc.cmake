# Finds COIN-OR Cbc, which brings no CMake package: `Cbc::CbcSolver`, the branch-and-cut solver with its C interface and, below it, Clp.
find_path(Cbc_INCLUDE_DIR Cbc_C_Interface.h PATH_SUFFIXES coin coin-or)
find_library(Cbc_LIBRARY CbcSolver)
find_library(Cbc_CLP_LIBRARY Clp)
find_library(Cbc_COIN_UTILS_LIBRARY CoinUtils)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cbc
  REQUIRED_VARS Cbc_LIBRARY Cbc_CLP_LIBRARY Cbc_COIN_UTILS_LIBRARY Cbc_INCLUDE_DIR)
mark_as_advanced(Cbc_INCLUDE_DIR Cbc_LIBRARY Cbc_CLP_LIBRARY Cbc_COIN_UTILS_LIBRARY)
if(Cbc_FOUND AND NOT TARGET Cbc::CbcSolver)
  add_library(Cbc::CbcSolver UNKNOWN IMPORTED)
  set_target_properties(Cbc::CbcSolver PROPERTIES
    IMPORTED_LOCATION ${Cbc_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Cbc_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "${Cbc_CLP_LIBRARY};${Cbc_COIN_UTILS_LIBRARY}")
endif()
