/// What becomes of positions that no receiver measured (`docs/capture.md`, "Mock positions").
///
/// A position is a mock where its source says so: `"extra": {"mock": true}`, or the kind `simulated`.
public enum MockPolicy: String, Hashable, Sendable, CaseIterable {
    /// It goes on, with `"mock": true` in its `extra`.
    case mark
    /// It goes nowhere.
    case reject

    /// The fix as it goes on; `nil` when it does not.
    public func applied(to fix: Location) -> Location? {
        guard Self.isMock(fix) else { return fix }
        switch self {
        case .mark: return Self.marked(fix)
        case .reject: return nil
        }
    }

    /// The fix, said to be a mock: what sources do with what their receivers call simulated.
    public static func marked(_ fix: Location) -> Location {
        var marked = fix
        marked.addExtra([.flag("mock", true)])
        return marked
    }

    /// Whether the source says that it did not measure this position.
    public static func isMock(_ fix: Location) -> Bool { fix.source == .simulated || fix.hasExtraFlag("mock") }
}
