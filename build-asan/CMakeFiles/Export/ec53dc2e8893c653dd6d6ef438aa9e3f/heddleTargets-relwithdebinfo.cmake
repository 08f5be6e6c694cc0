#----------------------------------------------------------------
# Generated CMake target import file for configuration "RelWithDebInfo".
#----------------------------------------------------------------

# Commands may need to know the format version.
set(CMAKE_IMPORT_FILE_VERSION 1)

# Import target "heddle::heddle" for configuration "RelWithDebInfo"
set_property(TARGET heddle::heddle APPEND PROPERTY IMPORTED_CONFIGURATIONS RELWITHDEBINFO)
set_target_properties(heddle::heddle PROPERTIES
  IMPORTED_LOCATION_RELWITHDEBINFO "${_IMPORT_PREFIX}/lib/libheddle.so.0.1.0"
  IMPORTED_SONAME_RELWITHDEBINFO "libheddle.so.0"
  )

list(APPEND _cmake_import_check_targets heddle::heddle )
list(APPEND _cmake_import_check_files_for_heddle::heddle "${_IMPORT_PREFIX}/lib/libheddle.so.0.1.0" )

# Import target "heddle::heddle_static" for configuration "RelWithDebInfo"
set_property(TARGET heddle::heddle_static APPEND PROPERTY IMPORTED_CONFIGURATIONS RELWITHDEBINFO)
set_target_properties(heddle::heddle_static PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELWITHDEBINFO "C"
  IMPORTED_LOCATION_RELWITHDEBINFO "${_IMPORT_PREFIX}/lib/libheddle.a"
  )

list(APPEND _cmake_import_check_targets heddle::heddle_static )
list(APPEND _cmake_import_check_files_for_heddle::heddle_static "${_IMPORT_PREFIX}/lib/libheddle.a" )

# Commands beyond this point should not need to know the version.
set(CMAKE_IMPORT_FILE_VERSION)
