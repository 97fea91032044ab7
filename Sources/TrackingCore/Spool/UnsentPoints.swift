/// The treatment of points that were not sent yet, when the device begins to track another trackable.
public enum UnsentPoints: String, Hashable, Sendable, CaseIterable {
    /// Reject the change of the trackable while there are unsent points.
    case refuse
    /// Delete the unsent points, then change the trackable.
    case clear
    /// Send the unsent points, then change the trackable.
    case send
}
