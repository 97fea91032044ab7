extension TrackableID {
    /// Makes the id of a trackable from a literal in the program's source. An invalid literal stops the program.
    package init(literal name: StaticString) {
        do throws(TrackingError) { try self.init("\(name)") } catch {
            preconditionFailure("cannot use '\(name)' as a trackable id: \(error.message)")
        }
    }
}
