extension TrackableID {
    /// Makes an id of a name in the program's text. A name that breaks the rules of ``init(_:)`` stops the program.
    package init(literal name: StaticString) {
        do throws(TrackingError) { try self.init("\(name)") } catch {
            preconditionFailure("cannot use '\(name)' as a trackable id: \(error.message)")
        }
    }
}
