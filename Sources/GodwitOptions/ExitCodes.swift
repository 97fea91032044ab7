public import ArgumentParser
public import TrackingCore

/// The exit codes of both programs, after `sysexits.h`.
extension ExitCode {
    /// Wrong usage.
    public static let wrongUsage = ExitCode(64)
    /// Input cannot be read.
    public static let inputUnreadable = ExitCode(66)
    /// The broker cannot be reached, where `--fail-fast` asks to end instead of waiting.
    public static let brokerUnreachable = ExitCode(69)
    /// Output cannot be written, as on a full disk.
    public static let outputUnwritable = ExitCode(74)
    /// Refused by the broker for good.
    public static let refused = ExitCode(77)
}

extension TrackingError {
    /// The exit code that tells this error to a script.
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

    /// Whether waiting can not help: the broker answered, and the answer was no.
    public var isRefusal: Bool { [.badCredentials, .notAuthorized, .refused].contains(self.code) }
}
