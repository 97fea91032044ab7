/// What a source tells.
public enum SourceEvent: Hashable, Sendable {
    /// Whoever is told; the same type in every package, whatever its async functions inherit.
    public typealias Delivery = @Sendable @concurrent (SourceEvent) async -> Void

    /// A fix.
    case fix(Location)
    /// Something that is no fix was refused: what and where, never a coordinate. The source goes on.
    case badInput(String)
    /// Something that an operator may want to know, and that becomes an event of the trackable.
    case notice(SourceNotice)
}
