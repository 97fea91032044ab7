public import ArgumentParser
public import TrackingCore

/// The exit codes of the programs `godwit` and `godwit-agent`, as in `sysexits.h`.
extension ExitCode {
    /// The exit code 64: the command line, the environment or the configuration file has an invalid option.
    public static let wrongUsage = ExitCode(64)
    /// The exit code 66: a file, the device's log or the recorded history cannot be read or written.
    public static let inputUnreadable = ExitCode(66)
    /// The exit code 69: the broker cannot be reached and `--fail-fast` is given. Errors without an exit code of their
    /// own also have it.
    public static let brokerUnreachable = ExitCode(69)
    /// The exit code 74: standard output cannot be written, for example on a full disk.
    public static let outputUnwritable = ExitCode(74)
    /// The exit code 77: the broker refuses the connection, for example because of wrong credentials, or another
    /// connection took over the client id. Trying again would not help.
    public static let refused = ExitCode(77)
}

extension TrackingError {
    /// The exit code with which the program ends because of this error.
    public var exitCode: ExitCode {
        switch self.code {
        case .badCredentials, .notAuthorized, .takenOver, .refused: .refused
        case .inputUnreadable, .spoolFailed, .spoolDamaged, .storeFailed, .storeBusy, .storeForbidden,
            .storeRefused, .storeUnusable:
            .inputUnreadable
        case .invalidName, .invalidConfiguration: .wrongUsage
        default: .brokerUnreachable
        }
    }

    /// `true` if the error is a refusal by the broker (wrong credentials, missing rights), so that trying again does
    /// not help.
    public var isRefusal: Bool { [.badCredentials, .notAuthorized, .refused].contains(self.code) }
}
