// The platform's C library under one name: the only file of the package that imports it (`scripts/lint-imports` checks this).
// Every other file that needs C functions writes `private import SystemLibrary`.

#if canImport(Glibc)
    @_exported public import Glibc
#elseif canImport(Musl)
    @_exported public import Musl
#elseif canImport(Darwin)
    @_exported public import Darwin
#else
    #error("SystemLibrary needs the C library of the platform: Glibc, Musl or Darwin")
#endif
