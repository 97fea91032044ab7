private import FoundationEssentials
package import SystemLibrary

/// Starts other programs directly, without a shell.
package enum ChildProgram {
    /// Starts a program in a process group of its own, so that it can be killed with its children. The program gets the
    /// three given descriptors as its standard streams, and no other open file. It gets the default handling of all
    /// signals and blocks none.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments. A name without a slash is looked up in `PATH`.
    ///   - environment: The program's environment variables.
    ///   - input: The descriptor that becomes the program's standard input.
    ///   - output: The descriptor that becomes the program's standard output.
    ///   - errors: The descriptor that becomes the program's standard error.
    ///   - id: The number of the started process, which is also the number of its process group.
    /// - Returns: The reason why the program could not be started; `nil` for success.
    package static func start(
        _ words: [String], environment: [String: String], input: Int32, output: Int32, errors: Int32, id: inout pid_t
    ) -> String? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)
        for descriptor in Self.descriptors { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        Self.prepare(&attributes)
        let texts = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in texts + variables { free(text) } }
        let code = posix_spawnp(&id, words[0], &actions, &attributes, texts, variables)
        return code == 0 ? nil : String(cString: strerror(code))
    }

    /// This program's open file descriptors, apart from the three standard streams. They are closed in the child
    /// program, which must not inherit them.
    private static var descriptors: [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.filter { $0 > 2 }
    }

    private static func prepare(_ attributes: inout posix_spawnattr_t) {
        // Threads of this program block some signals, which the child program would inherit.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    }
}
