# SPDX-License-Identifier: Apache-2.0
# The Debian package and the files in it:
#   cmake --preset release && cmake --build --preset release && (cd build/release && cpack)
# `cmake --install` installs only the binary. The files below are EXCLUDE_FROM_ALL, for the package.
set(PACKAGE_MAINTAINER "Delaybridge maintainers <maintainers@delaybridge.example>" CACHE STRING
    "Maintainer of the package, as NAME <ADDRESS>")
set(RUNBOOK_URL "file:///usr/share/doc/delaybridge/RUNBOOK.md" CACHE STRING
    "The page that the packaged alerts link to. {version} stands for the version")
set(PACKAGE_SUFFIX "" CACHE STRING "The end of the package's version, such as ~deb12")
string(REPLACE "{version}" "${PROJECT_VERSION}" RUNBOOK "${RUNBOOK_URL}")
set(DEPLOY ${CMAKE_CURRENT_LIST_DIR})
set(PAGES ${PROJECT_BINARY_DIR}/pages)

# page(NAME COMMAND [DEPENDS...]): adds a file that a shell command writes. $1 is the binary, $2 its emulator or nothing.
set(PAGE_FILES "")
function(page name command)
    add_custom_command(OUTPUT ${PAGES}/${name}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PAGES}
        COMMAND sh -c "set -e; { ${command}; } >\"$3\"" sh $<TARGET_FILE:delaybridge> "${CMAKE_CROSSCOMPILING_EMULATOR}" ${PAGES}/${name}
        DEPENDS delaybridge ${ARGN} VERBATIM)
    set(PAGE_FILES ${PAGE_FILES} ${PAGES}/${name} PARENT_SCOPE)
endfunction()
# replaced(OLD NEW FILE OUT): sets OUT to a command that prints the file with a text replaced.
function(replaced old new file out)
    string(REGEX REPLACE "([&|\\\\])" "\\\\\\1" new "${new}")
    string(REPLACE "'" "'\\''" new "${new}")
    set(${out} "sed 's|${old}|${new}|' '${file}'" PARENT_SCOPE)
endfunction()
replaced(@MAINTAINER@ "${PACKAGE_MAINTAINER}" ${DEPLOY}/deb/changelog print_changelog)
page(changelog.gz "${print_changelog} | sed '1s/)/${PACKAGE_SUFFIX})/' | gzip -9n" ${DEPLOY}/deb/changelog)
set(ALERTS ${DEPLOY}/helm/delaybridge/files/alerts.yaml)
replaced(file:///usr/share/doc/delaybridge/RUNBOOK.md "${RUNBOOK}" ${ALERTS} print_alerts)
page(alerts.yaml "${print_alerts}" ${ALERTS})
page(delaybridge.1.gz "$2 \"$1\" help --man | gzip -9nc")
page(completion.bash "$2 \"$1\" help --completion bash")
page(completion.zsh "$2 \"$1\" help --completion zsh")
add_custom_target(pages ALL DEPENDS ${PAGE_FILES})

function(packaged files destination)
    install(FILES ${files} DESTINATION ${destination} COMPONENT package EXCLUDE_FROM_ALL ${ARGN})
endfunction()
packaged(${PROJECT_SOURCE_DIR}/configs/delaybridge.yaml /etc/delaybridge)
packaged(${DEPLOY}/systemd/delaybridge.service /lib/systemd/system)
packaged("${DEPLOY}/deb/copyright;${PAGES}/changelog.gz;${DEPLOY}/prometheus/RUNBOOK.md" /usr/share/doc/delaybridge)
packaged(${PROJECT_SOURCE_DIR}/CHANGELOG.md /usr/share/doc/delaybridge)
packaged(${PAGES}/delaybridge.1.gz /usr/share/man/man1)
packaged(${PAGES}/completion.bash /usr/share/bash-completion/completions RENAME delaybridge)
packaged(${PAGES}/completion.zsh /usr/share/zsh/vendor-completions RENAME _delaybridge)
packaged(${PAGES}/alerts.yaml /usr/share/doc/delaybridge/examples)
packaged(${DEPLOY}/helm/delaybridge/files/dashboard.json /usr/share/doc/delaybridge/examples)
packaged(${PROJECT_SOURCE_DIR}/configs/minimal.yaml /usr/share/doc/delaybridge/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "delayed delivery for Kafka records")
set(CPACK_PACKAGE_DESCRIPTION "Delaybridge delivers Kafka records later. A producer writes a record to the
schedule topic, with headers that set the due time and the target topic. When
it is due, Delaybridge forwards it to the target. Until then it waits in Kafka
itself. So any number of records may wait for any time, and a process can be
killed at any point.")
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL Unspecified package)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME delaybridge)
set(CPACK_DEBIAN_PACKAGE_VERSION "${PROJECT_VERSION}${PACKAGE_SUFFIX}")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
if(CMAKE_CROSSCOMPILING)
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# From the headers, the dependency would be 0.8.1. The tests run with this version.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "librdkafka1 (>= 2.0.2)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${DEPLOY}/deb/conffiles ${DEPLOY}/deb/postinst ${DEPLOY}/deb/prerm ${DEPLOY}/deb/postrm)
include(CPack)
