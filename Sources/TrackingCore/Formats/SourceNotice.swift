/// A notice from a source of fixes for the operator, for example that the source failed or that its date was wrong.
public enum SourceNotice: Hashable, Sendable {
    /// This source of fixes was selected from several sources: from now on, its fixes are used.
    case selected(source: String)
    /// The source of fixes failed for this reason. It will be opened again later.
    case lost(source: String, reason: TrackingError)
    /// A source of fixes that had failed delivers fixes again.
    case found(source: String)
    /// The receiver's date was wrong by a multiple of 1,024 weeks, after which GPS week numbers start again, and was
    /// corrected. `rollovers` is that multiple, negative for a date in the past. The device's clock was trusted for the
    /// comparison.
    case dateCorrected(source: String, rollovers: Int)
    /// The receiver's date may be wrong by a multiple of 1,024 weeks, after which GPS week numbers start again. The
    /// device's clock was not trusted, so the date is not corrected. The fixes get the member `suspectWeeks` in their
    /// `extra`, a JSON object.
    case dateSuspect(source: String, rollovers: Int)
}
