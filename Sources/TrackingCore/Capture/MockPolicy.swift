/// The treatment of mock positions, which no receiver measured (`docs/reference/capture.md`, "Mock positions").
///
/// A position is a mock when its `extra` (a JSON object) contains `"mock": true` or its source is `simulated`.
public enum MockPolicy: String, Hashable, Sendable, CaseIterable {
    /// Process a mock position like any other, and add `"mock": true` to its `extra`, the JSON object with additional
    /// values.
    case mark
    /// Drop a mock position.
    case reject

    /// Returns the fix to process: a mock is marked as one, or dropped, as the policy says. Returns `nil` for a dropped
    /// fix.
    public func applied(to fix: Location) -> Location? {
        guard Self.isMock(fix) else { return fix }
        switch self {
        case .mark: return Self.marked(fix)
        case .reject: return nil
        }
    }

    /// Returns the fix marked as a mock (`"mock": true` in its `extra`). Sources of fixes call it when a receiver
    /// reports a position as simulated.
    public static func marked(_ fix: Location) -> Location {
        var marked = fix
        marked.addExtra([.flag("mock", true)])
        return marked
    }

    /// Returns `true` when the fix is a mock: its source is `simulated`, or its `extra` contains `"mock": true`.
    public static func isMock(_ fix: Location) -> Bool { fix.source == .simulated || fix.hasExtraFlag("mock") }
}
