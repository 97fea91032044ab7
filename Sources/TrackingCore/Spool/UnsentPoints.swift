/// The treatment of unsent points when the device is bound to another trackable.
public enum UnsentPoints: String, Hashable, Sendable, CaseIterable {
    /// Reject the change while there are unsent points.
    case refuse
    /// Delete the unsent points.
    case clear
    /// Send the unsent points first.
    case send
}
