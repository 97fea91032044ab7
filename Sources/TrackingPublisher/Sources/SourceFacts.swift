public import TrackingCore

/// The properties of a source that are known before it runs: its name, kind and class of accuracy, and whether
/// it ends by itself and whether it is live.
public struct SourceFacts: Hashable, Sendable {
    /// The name of the source in logs and events, usually its address as a user writes it, such as
    /// `gpsd://127.0.0.1:2947`. It never contains a credential.
    public var name: String
    /// The kind of source, such as a GPS receiver or a replay, with which the source marks its fixes.
    public var kind: SourceKind
    /// `true` when the source ends by itself, as a recording does and a receiver does not.
    public var isFinite: Bool
    /// `true` for a receiver that measures the current position, `false` for a recording or a simulation. Only the
    /// dates of a live source are examined, and only a live source is tried again when it breaks.
    public var isLive: Bool
    /// The class of accuracy that the source reaches. Of several sources, the one with the lowest class that suffices
    /// for the wanted accuracy runs.
    public var accuracy: Resolution.Accuracy

    /// Creates the facts about a source of positions.
    ///
    /// - Parameters:
    ///   - name: The source as its user wrote it, without a credential.
    ///   - kind: The kind of source that each fix is marked with.
    ///   - isFinite: `true` when the source ends by itself.
    ///   - isLive: `true` for a receiver that measures the current position.
    ///   - accuracy: The class of accuracy that the source reaches.
    public init(
        name: String, kind: SourceKind, isFinite: Bool, isLive: Bool, accuracy: Resolution.Accuracy = .high
    ) {
        self.name = name
        self.kind = kind
        self.isFinite = isFinite
        self.isLive = isLive
        self.accuracy = accuracy
    }
}
