/// What becomes of points that are not sent yet when another trackable is bound.
public enum UnsentPoints: String, Hashable, Sendable, CaseIterable {
    /// Nothing is bound while there are any.
    case refuse
    /// They are forgotten.
    case clear
    /// They are sent first.
    case send
}
