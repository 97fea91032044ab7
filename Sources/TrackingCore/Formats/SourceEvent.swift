/// An event from a source of fixes, such as a receiver, a file or a network service.
public enum SourceEvent: Hashable, Sendable {
    /// A function that receives the events of a source of fixes. The type is explicitly `@concurrent`, so that it is
    /// the same in every package, whatever isolation async functions inherit there.
    public typealias Delivery = @Sendable @concurrent (SourceEvent) async -> Void

    /// A fix, the position of a trackable at a time.
    case fix(Location)
    /// An invalid input, such as a broken line, that was rejected. The text contains the reason and the place in the
    /// input, but never a coordinate. The source continues after it.
    case badInput(String)
    /// A notice about the source for the operator, such as the loss of a receiver. The publisher logs it, or publishes
    /// it as an event of the trackable.
    case notice(SourceNotice)
}
