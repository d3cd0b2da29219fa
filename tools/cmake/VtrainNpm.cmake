# vtrain_npm_packages(COMMENT): fetches what package.json and package-lock.json of the current folder name into `npm` of its build folder,
# and again only when one of the two changes. Afterwards there is the file `npm/fetched`.
function(vtrain_npm_packages comment)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/npm)
  add_custom_command(OUTPUT ${folder}/fetched
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E copy package.json package-lock.json ${folder}
    COMMAND ${CMAKE_COMMAND} -E chdir ${folder}
      ${NPM_PROGRAM} ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/fetched
    DEPENDS package.json package-lock.json
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "${comment}"
    VERBATIM)
endfunction()
