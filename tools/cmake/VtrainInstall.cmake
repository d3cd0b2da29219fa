# Install and export: `find_package(vtrain)` gives the target vtrain::vtrain, whose headers are <vtrain/scenario.hpp> and the others of
# tools/api. What they include lies below include/vtrain/private and may change from version to version.
include(CMakePackageConfigHelpers)

add_library(vtrain_api INTERFACE)
add_library(vtrain::vtrain ALIAS vtrain_api)
set_target_properties(vtrain_api PROPERTIES EXPORT_NAME vtrain)
target_link_libraries(vtrain_api INTERFACE vtrain::results)
target_include_directories(vtrain_api INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/api/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vtrain FILES_MATCHING PATTERN "*.hpp")

get_property(vtrain_libraries GLOBAL PROPERTY VTRAIN_LIBRARIES)
get_property(vtrain_modules GLOBAL PROPERTY VTRAIN_MODULES)
list(TRANSFORM vtrain_libraries PREPEND vtrain_ OUTPUT_VARIABLE vtrain_targets)
install(TARGETS ${vtrain_targets} vtrain_api EXPORT vtrainTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder IN LISTS vtrain_modules ITEMS tools/format tools/experiment tools/report tools/results)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vtrain/private/${folder}
    FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(TARGETS vtrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(vtrain_shell ${PROJECT_BINARY_DIR}/tools)
install(FILES ${vtrain_shell}/vtrain.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${vtrain_shell}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME vtrain)
install(FILES ${vtrain_shell}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _vtrain)
install(FILES ${vtrain_shell}/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME vtrain.fish)
install(FILES ${PROJECT_SOURCE_DIR}/integrations/slurm/job_submit.lua DESTINATION ${CMAKE_INSTALL_DATADIR}/vtrain/slurm)
install(FILES ${PROJECT_SOURCE_DIR}/integrations/python/vtrain_client.py DESTINATION ${CMAKE_INSTALL_DATADIR}/vtrain/python)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/integrations/systemd DESTINATION ${CMAKE_INSTALL_DATADIR}/vtrain)
install(EXPORT vtrainTargets NAMESPACE vtrain:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vtrain)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/vtrainConfig.cmake.in
  ${PROJECT_BINARY_DIR}/vtrainConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vtrain)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vtrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vtrainConfig.cmake ${PROJECT_BINARY_DIR}/vtrainConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindCbc.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/vtrain)
