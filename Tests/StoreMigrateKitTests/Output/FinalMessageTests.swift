// What a run prints beside its report.

import StoreMigrateKit
import Testing

@Suite(.tags(.pure)) struct LastWords {
  @Test func `a failure together with a signal is reported as the failure`() {
    let both = FinalMessage(failure: "The steps ran: no room.", isJSON: false, wasStopped: true)
    #expect(both.text == "store-migrate: The steps ran: no room.")
    // The JSON object has the failure, and no text after it contradicts it.
    #expect(FinalMessage(failure: "x", isJSON: true, wasStopped: true).text == nil)
  }

  @Test(arguments: [true, false])
  func `a signal that came too late is reported, and without a signal nothing is printed`(_ isJSON: Bool) {
    let late = FinalMessage(failure: nil, isJSON: isJSON, wasStopped: true)
    #expect(late.text == "store-migrate: The command was complete before it could be stopped.")
    #expect(FinalMessage(failure: nil, isJSON: isJSON, wasStopped: false).text == nil)
  }
}
