public import ArgumentParser
public import TrackingCore

/// The exit codes of both programs, as in `sysexits.h`.
extension ExitCode {
    /// The command line is wrong.
    public static let wrongUsage = ExitCode(64)
    /// Input or the history cannot be read.
    public static let inputUnreadable = ExitCode(66)
    /// The broker cannot be reached, with `--fail-fast`.
    public static let brokerUnreachable = ExitCode(69)
    /// Output cannot be written, for example on a full disk.
    public static let outputUnwritable = ExitCode(74)
    /// The broker refuses the program for good.
    public static let refused = ExitCode(77)
}

extension TrackingError {
    /// The exit code of a program that ends with this error.
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

    /// `true` if the broker refused, so that waiting does not help.
    public var isRefusal: Bool { [.badCredentials, .notAuthorized, .refused].contains(self.code) }
}
