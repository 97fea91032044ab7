import TrackingCore

/// The observations at two addresses of one cluster.
extension Certification {
    func observeElsewhere() async throws -> [CertificateObservation] {
        guard self.clusters else { return [.noSecondAddress] }
        var reader = try self.client("reader")
        reader.address = .second
        let delivery = try await self.deliver(500, on: "elsewhere", from: self.client("publisher"), to: reader)
        return [.delivery(delivery)]
    }

    func observeTakeoverElsewhere() async throws -> [CertificateObservation] {
        guard self.clusters else { return [.noSecondAddress] }
        return [.answer(try await self.takeOver(at: .second) != nil)]
    }

    func observeSessionElsewhere() async throws -> [CertificateObservation] {
        guard self.clusters else { return [.noSecondAddress] }
        return [.delivery(try await self.deliverToAbsent(100, name: "moved", returningTo: .second))]
    }
}

extension CertificateObservation {
    /// The observation of a check between two addresses of a cluster, if only one address is known.
    static var noSecondAddress: CertificateObservation { .untried("needs a second address") }
}
