# Install and export: `find_package(vtrain)` gives vtrain::core ... vtrain::policies.
include(CMakePackageConfigHelpers)

get_property(vtrain_modules GLOBAL PROPERTY VTRAIN_MODULES)
foreach(module IN LISTS vtrain_modules)
  install(TARGETS vtrain_${module} EXPORT vtrainTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vtrain/${module}
    FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(TARGETS vtrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT vtrainTargets NAMESPACE vtrain:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vtrain)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/vtrainConfig.cmake.in
  ${PROJECT_BINARY_DIR}/vtrainConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vtrain)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vtrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vtrainConfig.cmake ${PROJECT_BINARY_DIR}/vtrainConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindCbc.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vtrain)
