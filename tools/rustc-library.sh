#!/bin/sh
# Calls the compiler for cargo (RUSTC_WORKSPACE_WRAPPER): rustc-library.sh RUSTC ARGUMENTS... Only
# libmpi.so.12 is optimised across crates, which saves 1 to 7 % of the instructions of a message. With a
# profile of its own, cargo would compile every crate below it a second time. The crates below it need bitcode
# as well as machine code: RUSTFLAGS='-C embed-bitcode=yes'.
case " $* " in
*" --crate-name ftmpi_abi "*" --crate-type cdylib "* | *" --crate-type cdylib "*" --crate-name ftmpi_abi "*)
    exec "$@" -C lto=thin
    ;;
esac
exec "$@"
