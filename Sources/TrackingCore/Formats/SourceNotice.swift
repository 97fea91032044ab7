/// What happened to a source, beside fixes.
public enum SourceNotice: Hashable, Sendable {
    /// The source that runs is now this one; the others are closed.
    case selected(source: String)
    /// The source broke, for this reason. It is tried again.
    case lost(source: String, reason: TrackingError)
    /// A source that had been lost delivers again.
    case found(source: String)
    /// The receiver's date was this many times 1,024 weeks off the trusted clock (negative: in the past) and was corrected.
    case dateCorrected(source: String, rollovers: Int)
    /// The receiver's date is this many times 1,024 weeks off a clock that nobody vouches for; the fixes keep it, marked with
    /// `suspectWeeks` in their `extra`.
    case dateSuspect(source: String, rollovers: Int)
}
