extension JSONValue {
    /// Checks that this JSON object has no other members than the known ones, so that a misspelled member is not
    /// ignored. A value that is no object has no members.
    ///
    /// - Parameters:
    ///   - known: The names of the members that the object may have.
    ///   - what: The words for the object in the error, such as `rule 'fast'`.
    /// - Throws: `invalidConfiguration` that names an unknown member, and the known ones.
    package func checkMembers(_ known: [String], of what: String) throws(TrackingError) {
        guard let name = self.object?.keys.sorted().first(where: { !known.contains($0) }) else { return }
        throw TrackingError(
            .invalidConfiguration,
            "cannot use \(what): its member \"\(name.prefix(80))\" is unknown. Known members: \(known.joined(separator: ", "))"
        )
    }
}
