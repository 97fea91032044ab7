import Testing
import TrackingCore

@testable import TrackingGateway

@Suite struct PhoneClientTests {
    private let location = Array(#"{"_type":"location"}"#.utf8)
    private let batch = Array(#"{"locations":[]}"#.utf8)
    private let failure = TrackingError(.brokerUnreachable, "the broker is away")

    @Test func clientsAreRecognizedByNameThenByBody() {
        #expect(PhoneClient(userAgent: "Overland/1.3 (iPhone; iOS 17.4; Scale/3.00)", body: self.location) == .overland)
        #expect(PhoneClient(userAgent: "Owntracks-Android/gms/420504000", body: self.batch) == .ownTracks)
        #expect(PhoneClient(userAgent: "OwnTracks/18.2.1 CFNetwork/1496 Darwin/23", body: []) == .ownTracks)
        #expect(PhoneClient(userAgent: "okhttp/3.12", body: self.batch) == .other)
        #expect(PhoneClient(userAgent: nil, body: self.location) == .ownTracks)
        #expect(PhoneClient(userAgent: nil, body: []) == .other)
    }

    @Test func eachClientGetsItsOwnFormOfSuccess() {
        let batch = PhoneBatch(refused: [RefusedPiece(reason: "no", bytes: [])])
        #expect(PhoneAnswer.taken(batch, by: .overland).body["result"]?.text == "ok")
        #expect(PhoneAnswer.taken(batch, by: .other).body["result"]?.text == "ok")
        #expect(PhoneAnswer.taken(batch, by: .ownTracks).body == .list([]))
        for client in [PhoneClient.overland, .ownTracks, .other] {
            #expect(PhoneAnswer.taken(batch, by: client).status == 200)
        }
    }

    @Test func overlandShowsWhyItWasNotTaken() {
        let answer = PhoneAnswer.notTaken(self.failure, by: .overland)
        #expect(answer.status == 200 && answer.body["error"]?.text == "the broker is away")
        #expect(answer.body["result"] == nil)
    }

    @Test func otherClientsGetTheStatus() {
        // Any 2xx status makes the phone remove its records.
        #expect(PhoneAnswer.notTaken(self.failure, by: .ownTracks).status == 503)
        #expect(PhoneAnswer.notTaken(self.failure, by: .other).status == 503)
    }

    @Test func nextBillionsSDKGetsAStatusAndAMessage() {
        #expect(PhoneAnswer.taken(PhoneBatch(), by: .nextBillion).body == .object(["status": .text("Ok")]))
        let answer = PhoneAnswer.notTaken(self.failure, by: .nextBillion)
        #expect(answer.status == 503)
        #expect(
            answer.body
                == .object(["status": .text("Service Unavailable"), "message": .text("the broker is away")]))
        #expect(PhoneAnswer.unreadable(TrackingError(.payloadTooLarge, "no"), by: .nextBillion).status == 413)
    }

    @Test func ownTracksDoesNotSendTheUnreadableForEver() {
        let error = TrackingError(.invalidPayload, "not JSON")
        #expect(PhoneAnswer.unreadable(error, by: .ownTracks).status == 200)
        #expect(PhoneAnswer.unreadable(error, by: .overland).body["error"]?.text == "not JSON")
        #expect(PhoneAnswer.unreadable(error, by: .other).status == 400)
        #expect(PhoneAnswer.unreadable(TrackingError(.payloadTooLarge, "no"), by: .other).status == 413)
    }
}

@Suite struct PhoneIdentityTests {
    private let van = try! TrackableID("van-7")  // a valid id
    private let phone = try! TrackableID("jane-phone")  // a valid id

    @Test func aTokenForOneTrackableIgnoresOtherNames() throws {
        var identity = PhoneIdentity()
        identity.add(device: "somebody-else")
        #expect(try identity.trackable(of: .only([self.van])) == self.van)
    }

    @Test func ofSeveralTheClaimChooses() throws {
        let both = TrackableScope.only([self.van, self.phone])
        var identity = PhoneIdentity()
        #expect(throws: TrackingError.self) { try identity.trackable(of: both) }
        identity.add(topic: "owntracks/jane/phone")
        #expect(try identity.trackable(of: both) == self.phone)
        identity = PhoneIdentity()
        identity.add(user: nil, device: "van-7")
        #expect(try identity.trackable(of: both) == self.van)
    }

    @Test func oneThatIsNotTheirsIsNoChoice() {
        var identity = PhoneIdentity()
        identity.add(device: "van-8")
        #expect(throws: TrackingError.self) { try identity.trackable(of: .only([self.van, self.phone])) }
        #expect(throws: TrackingError.self) { try identity.trackable(of: .only([])) }
    }

    @Test func aSelectedTrackableMustBeTheirs() throws {
        var identity = PhoneIdentity()
        identity.select(device: "")
        identity.add(device: "van-8")
        #expect(try identity.trackable(of: .only([self.van])) == self.van)
        identity.select(device: "jane-phone")
        #expect(try identity.trackable(of: .only([self.van, self.phone])) == self.phone)
        #expect(try identity.trackable(of: .all) == self.phone)
        for ids in [[self.van], [self.van, try TrackableID("van-8")]] {
            #expect { try identity.trackable(of: .only(Set(ids))) } throws: {
                ($0 as? TrackingError)?.code == .notAuthorized
            }
        }
        identity.select(device: "a\n")
        #expect { try identity.trackable(of: .all) } throws: { ($0 as? TrackingError)?.code == .invalidName }
    }

    @Test func aTokenForAllTrackablesMustNameOne() throws {
        var identity = PhoneIdentity()
        #expect(throws: TrackingError.self) { try identity.trackable(of: .all) }
        identity.add(device: "")
        identity.add(user: "jane", device: "phone")
        #expect(try identity.trackable(of: .all) == self.phone)
    }
}
