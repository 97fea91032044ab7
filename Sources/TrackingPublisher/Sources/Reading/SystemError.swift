private import Glibc
import TrackingCore

/// What the system says about a failed call.
enum SystemError {
    /// The system's words for an error number.
    static func text(_ number: Int32) -> String { String(cString: strerror(number)) }

    /// The error of an input that cannot be opened or read: `what` names it.
    static func inputUnreadable(_ what: String, _ number: Int32, advice: String = "") -> TrackingError {
        TrackingError(.inputUnreadable, "\(what): \(Self.text(number))\(advice.isEmpty ? "" : "; \(advice)")")
    }

    /// Thrown within a source when its task was cancelled; never leaves ``LocationSource/run(deliver:)``.
    static var cancelled: TrackingError { TrackingError(.stopped, "the source was stopped") }
}
