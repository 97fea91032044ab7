/// The treatment of mock positions, which no receiver measured (`docs/reference/capture.md`, "Mock positions").
///
/// A position is a mock when its `extra` contains `"mock": true` or its source is `simulated`.
public enum MockPolicy: String, Hashable, Sendable, CaseIterable {
    /// Process the position and add `"mock": true` to its `extra`.
    case mark
    /// Drop the position.
    case reject

    /// Returns the fix to process; `nil` when the policy drops it.
    public func applied(to fix: Location) -> Location? {
        guard Self.isMock(fix) else { return fix }
        switch self {
        case .mark: return Self.marked(fix)
        case .reject: return nil
        }
    }

    /// Returns the fix marked as a mock. Sources call it for positions that their receivers call simulated.
    public static func marked(_ fix: Location) -> Location {
        var marked = fix
        marked.addExtra([.flag("mock", true)])
        return marked
    }

    /// Returns `true` when the source states that it did not measure the position.
    public static func isMock(_ fix: Location) -> Bool { fix.source == .simulated || fix.hasExtraFlag("mock") }
}
