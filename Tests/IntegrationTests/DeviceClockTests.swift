import Foundation
import TestSupport
import Testing
import TrackingCore

/// Devices whose clock is ahead, with the built programs: a phone over HTTP and a device on the broker.
@Suite(.timeLimit(.minutes(5))) struct DeviceClockTests {
    @Test func aClockThatIsAheadIsRecordedFlaggedCountedAndPublished() async throws {
        let stage = try await GatewayStage()
        let recorder = try await stage.recorder()
        let gateway = try await stage.gateway()
        let token = try await stage.token("desk", ["--read-all"])
        let headers = ["Authorization": "Bearer \(token)"]
        let stream = try await EventStream("/api/v1/live", port: stage.port, headers: headers)
        var phone = try await stage.phone("phone")
        let time = Int(Date().timeIntervalSince1970) + 85
        phone.record(latitude: 52.5, longitude: -8.5, time: time)
        #expect(await phone.send(1, to: stage.port)?.isTaken == true)
        var point = Location(
            coordinate: try #require(Coordinate(latitude: 52.5125, longitude: -8.5)),
            time: UnixTime(Date().timeIntervalSince1970 + 85))
        (point.seq, point.stream) = (1, StreamID("one"))
        let payload = String(decoding: try LocationCodec.encode(LocationUpdate(location: point)), as: UTF8.self)
        let sent = try await RunningProgram(
            "/usr/bin/mosquitto_pub",
            ["-p", "\(stage.recording.broker.port)", "-q", "1", "-r", "-t", "tracking/device", "-m", payload]
        ).result(within: .seconds(60))
        #expect(sent.code == 0, "\(sent.errors)")
        var leads: [String: Int] = [:]
        for await event in stream.events where event.name == "clock" || event.name == "position" {
            #expect(event.name == "clock", "\(event.data)")
            let data = try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? [String: Any]
            leads[try #require(data?["trackable"] as? String)] = try #require(data?["ahead"] as? Int)
            if leads.count == 2 { break }
        }
        #expect(leads.keys.sorted() == ["device", "phone"] && leads.values.allSatisfy { (80...86).contains($0) })
        for id in ["device", "phone"] {
            let answer = try await LoopbackHTTP.request(
                "GET", "/api/v1/trackables/\(id)/position", port: stage.port, headers: headers)
            #expect(answer.status == 404, "\(answer.text)")
        }
        #expect(try await stage.times(of: "phone") == [time])
        let metrics = try await LoopbackHTTP.request("GET", "/metrics", port: stage.port)
        #expect(metrics.text.contains("godwit_gateway_points_ahead_total 2"), "\(metrics.text)")
        #expect(gateway.errors.components(separatedBy: "Clock of a device is ahead").count == 3)
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
        recorder.terminate()
        _ = try await recorder.result(within: .seconds(60))
    }
}
