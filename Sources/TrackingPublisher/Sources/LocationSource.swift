public import TrackingCore

/// A source of fixes: a receiver, a recording, a simulation, or an implementation of your own.
///
/// One caller runs a source at a time. The source opens its files and connections within ``run(deliver:)`` and closes
/// them before that call returns or throws.
public protocol LocationSource: Sendable {
    /// The properties of the source that are known before it runs: its name, its kind, its class of accuracy, whether
    /// it ends by itself, and whether it is a live receiver that measures the current position.
    var facts: SourceFacts { get }

    /// The time until which the source's receiver sleeps between two fixes. The default is `nil`: the receiver is awake,
    /// or the source has none.
    var asleepUntil: MonotonicTime? { get }

    /// Delivers fixes and notices. Returns when the source ends or the task is cancelled, and throws when the source
    /// breaks.
    ///
    /// `deliver` suspends until the caller has accepted the event. A recording at full speed therefore never outruns
    /// the caller, and no event is lost. One task calls `deliver`, one event after the other.
    ///
    /// In a package with `NonisolatedNonsendingByDefault`, name the type of `deliver` as here. In other packages the
    /// type `@Sendable (SourceEvent) async -> Void` is the same.
    ///
    /// - Parameter deliver: Receives the fixes and notices.
    /// - Throws: `inputUnreadable` when the file, device or receiver cannot be opened or breaks. The caller may run a
    ///   broken source again after a wait of its choice.
    func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError)

    /// Sets the resolution that is wanted from now on. Callers may call this function at any time, also before
    /// ``run(deliver:)``.
    ///
    /// A source that cannot be slowed continues at its own rate, and the update filter thins its fixes.
    ///
    /// - Parameter resolution: The accuracy and the interval between fixes that the trackables need.
    func use(_ resolution: Resolution) async
}

extension LocationSource {
    /// `nil`: the source has no receiver that sleeps.
    public var asleepUntil: MonotonicTime? { nil }
}
