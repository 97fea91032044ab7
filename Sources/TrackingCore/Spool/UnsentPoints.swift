/// The treatment of points that were not sent yet, when the device begins to track another trackable.
public enum UnsentPoints: String, Hashable, Sendable, CaseIterable {
    /// Reject the change to another trackable while there are unsent points.
    case refuse
    /// First delete the unsent points from the log, then begin to track the other trackable.
    case clear
    /// First send the unsent points, then begin to track the other trackable.
    case send
}
