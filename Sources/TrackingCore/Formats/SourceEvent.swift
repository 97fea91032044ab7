/// An event that a source of fixes (a receiver, a file, a network service) delivers.
public enum SourceEvent: Hashable, Sendable {
    /// A function that receives the events of a source of fixes. Each package uses this type name, so that the function
    /// type is the same whatever isolation a package's async functions inherit.
    public typealias Delivery = @Sendable @concurrent (SourceEvent) async -> Void

    /// A fix.
    case fix(Location)
    /// An invalid input that was rejected. The text contains the reason and the position in the input, never a
    /// coordinate. The source continues.
    case badInput(String)
    /// An incident of interest to an operator. It is published as an event of the trackable.
    case notice(SourceNotice)
}
