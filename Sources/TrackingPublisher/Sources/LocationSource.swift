public import TrackingCore

/// Where fixes come from: a receiver, a recording, a simulation, or one's own.
///
/// A source is run by one caller at a time. Everything it opens, it opens within ``run(deliver:)`` and has closed when
/// that returns or throws.
public protocol LocationSource: Sendable {
    /// What is known of the source before it runs.
    var facts: SourceFacts { get }

    /// Delivers what the source tells until it ends (returns), breaks (throws) or the task is cancelled (returns).
    ///
    /// `deliver` suspends until the fix was taken in, so that a recording at full speed is held to the pace of what
    /// follows and nothing is lost. It is called by one task, one event after the other.
    ///
    /// In a package with `NonisolatedNonsendingByDefault` the type of `deliver` is to be named as here; elsewhere it is
    /// `@Sendable (SourceEvent) async -> Void` as well.
    ///
    /// - Throws: `inputUnreadable` when the file, device or receiver cannot be opened or breaks. May be called again then:
    ///   that is how a broken source is tried again, after a wait that is the caller's to choose.
    func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError)

    /// Says which resolution is wanted from now on; may be called at any time, also before ``run(deliver:)``.
    ///
    /// What cannot be slowed goes on as before: the update filter thins what it delivers.
    func use(_ resolution: Resolution) async
}
