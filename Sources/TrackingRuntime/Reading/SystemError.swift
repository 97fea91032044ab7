private import SystemLibrary
package import TrackingCore

/// The texts and errors for failed system calls.
package enum SystemError {
    /// Returns the system's description of an error number.
    package static func text(_ number: Int32) -> String { String(cString: strerror(number)) }

    /// Returns the error of an input that cannot be opened or read.
    ///
    /// - Parameters:
    ///   - what: The name of the input.
    ///   - number: The system's error number (`errno`).
    ///   - advice: A sentence with a remedy, appended to the message; empty for none.
    package static func inputUnreadable(_ what: String, _ number: Int32, advice: String = "") -> TrackingError {
        TrackingError(
            .inputUnreadable, "cannot use \(what): \(Self.text(number))\(advice.isEmpty ? "" : ". \(advice)")")
    }

    /// The error `stopped`, which a read throws when its task was cancelled.
    package static var cancelled: TrackingError {
        TrackingError(.stopped, "cannot read the input: the task was cancelled")
    }
}
