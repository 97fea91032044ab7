/// An incident of a source of fixes.
public enum SourceNotice: Hashable, Sendable {
    /// This source is active now; the others are closed.
    case selected(source: String)
    /// The source failed for this reason. It is tried again.
    case lost(source: String, reason: TrackingError)
    /// A source that had failed delivers fixes again.
    case found(source: String)
    /// The receiver's date differed from the trusted clock by this many times 1,024 weeks (negative: in the past), and
    /// was corrected.
    case dateCorrected(source: String, rollovers: Int)
    /// The receiver's date differs by this many times 1,024 weeks from a clock that is not trusted. The fixes retain
    /// the date and get the member `suspectWeeks` in their `extra`.
    case dateSuspect(source: String, rollovers: Int)
}
