private import Glibc
package import TrackingCore

/// What the system says about a failed call.
package enum SystemError {
    /// The system's words for an error number.
    package static func text(_ number: Int32) -> String { String(cString: strerror(number)) }

    /// The error of an input that cannot be opened or read: `what` names it.
    package static func inputUnreadable(_ what: String, _ number: Int32, advice: String = "") -> TrackingError {
        TrackingError(.inputUnreadable, "\(what): \(Self.text(number))\(advice.isEmpty ? "" : "; \(advice)")")
    }

    /// Thrown within what reads, when its task was cancelled; its own caller does not hear it.
    package static var cancelled: TrackingError { TrackingError(.stopped, "the reading was stopped") }
}
