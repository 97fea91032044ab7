/// What a source tells.
public enum SourceEvent: Hashable, Sendable {
    /// A fix.
    case fix(Location)
    /// Something that is no fix was refused: what and where, never a coordinate. The source goes on.
    case badInput(String)
    /// Something that an operator may want to know, and that becomes an event of the trackable.
    case notice(SourceNotice)
}
