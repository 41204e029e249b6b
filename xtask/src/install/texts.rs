//! Files that are written for an installation: those by which pkg-config and CMake find it.

use std::path::Path;

/// Libraries that the runtime needs beside the C library.
const OF_THE_SYSTEM: &str = "-lgcc_s -lpthread -ldl -lm";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Names below the prefix, and what the files say.
pub(super) fn all(prefix: &Path) -> [(&'static str, String); 4] {
    [
        ("lib/pkgconfig/tally.pc", runtime(prefix)),
        ("lib/pkgconfig/tally-llvm.pc", lowering(prefix)),
        ("lib/cmake/Tally/TallyConfig.cmake", CMAKE.replace("@SYSTEM@", OF_THE_SYSTEM)),
        ("lib/cmake/Tally/TallyConfigVersion.cmake", CMAKE_VERSION.replace("@VERSION@", VERSION)),
    ]
}

fn runtime(prefix: &Path) -> String {
    format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\npass_plugin=${{libdir}}/libtally_pass.so\n\n\
         Name: tally\nDescription: The runtime of programs that Tally has lowered, and the header of such programs in C\n\
         Version: {VERSION}\nCflags: -I${{includedir}}\nLibs: -L${{libdir}} -ltally {OF_THE_SYSTEM}\n",
        prefix.display()
    )
}

fn lowering(prefix: &Path) -> String {
    format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\n\
         Name: tally-llvm\nDescription: Lowering and sessions for compilers over the C API of LLVM 22\n\
         Version: {VERSION}\nCflags: -I${{includedir}}\nLibs: -L${{libdir}} -ltally_llvm\n",
        prefix.display()
    )
}

/// The prefix is found from the file's own place, so that an installation may be moved.
const CMAKE: &str = r#"# find_package(Tally) of CMake: targets Tally::runtime and Tally::llvm, and target_use_tally(TARGET [WORDS…]).
get_filename_component(TALLY_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(TALLY_PASS_PLUGIN "${TALLY_PREFIX}/lib/libtally_pass.so")
set(TALLY_COMMAND "${TALLY_PREFIX}/bin/tally")

if(NOT TARGET Tally::runtime)
  add_library(Tally::runtime STATIC IMPORTED)
  set_target_properties(Tally::runtime PROPERTIES
    IMPORTED_LOCATION "${TALLY_PREFIX}/lib/libtally.a"
    INTERFACE_INCLUDE_DIRECTORIES "${TALLY_PREFIX}/include"
    INTERFACE_LINK_LIBRARIES "@SYSTEM@")
endif()

if(NOT TARGET Tally::llvm)
  add_library(Tally::llvm SHARED IMPORTED)
  set_target_properties(Tally::llvm PROPERTIES
    IMPORTED_LOCATION "${TALLY_PREFIX}/lib/libtally_llvm.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${TALLY_PREFIX}/include")
endif()

# The C files of TARGET are compiled by clang 22 with Tally's pass plugin; WORDS are its options, as plan=refcount-prompt.
function(target_use_tally target)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang" OR NOT CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 22
      OR NOT CMAKE_C_COMPILER_VERSION VERSION_LESS 23)
    message(FATAL_ERROR "target_use_tally: the C compiler must be clang 22 (cmake -DCMAKE_C_COMPILER=clang-22); "
      "it is ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" OR type STREQUAL "MODULE_LIBRARY")
    # It has the runtime of the executable that loads it: that needs ENABLE_EXPORTS where it is not linked to the library.
    target_include_directories(${target} PRIVATE "${TALLY_PREFIX}/include")
  else()
    target_link_libraries(${target} PRIVATE Tally::runtime)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:-fpass-plugin=${TALLY_PASS_PLUGIN}>")
  if(ARGN)
    list(JOIN ARGN " " words)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:C>:SHELL:-fplugin=${TALLY_PASS_PLUGIN} -mllvm \"-tally=${words}\">")
  endif()
endfunction()
"#;

const CMAKE_VERSION: &str = r#"set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use std::process::Command;

    /// Where there is pkg-config: what a build gets from it for a package.
    fn asked(files: &Path, words: &[&str]) -> String {
        let output = Command::new("pkg-config").args(words).env("PKG_CONFIG_PATH", files).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn pkg_config_tells_the_words_for_compiler_and_linker() {
        if !process::is_on_path("pkg-config") {
            eprintln!("no pkg-config: not tried");
            return;
        }
        let folder = std::env::temp_dir().join(format!("tally-pkg-config-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in all(Path::new("/opt/tally")) {
            std::fs::write(folder.join(Path::new(name).file_name().unwrap()), text).unwrap();
        }
        let runtime = "-I/opt/tally/include -L/opt/tally/lib -ltally -lgcc_s -lpthread -ldl -lm";
        assert_eq!(asked(&folder, &["--cflags", "--libs", "tally"]), runtime);
        let lowering = "-I/opt/tally/include -L/opt/tally/lib -ltally_llvm";
        assert_eq!(asked(&folder, &["--cflags", "--libs", "tally-llvm"]), lowering);
        let plugin = asked(&folder, &["--variable=pass_plugin", "tally"]);
        assert_eq!(
            (plugin.as_str(), asked(&folder, &["--modversion", "tally"]).as_str()),
            ("/opt/tally/lib/libtally_pass.so", VERSION)
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
