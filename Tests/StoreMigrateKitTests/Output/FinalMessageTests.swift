// What a run says beside its report.

import StoreMigrateKit
import Testing

@Suite(.tags(.pure)) struct LastWords {
  @Test func `of a failure and a signal at once the failure is told, and not that all was done`() {
    let both = FinalMessage(failure: "The steps ran: no room.", isJSON: false, wasStopped: true)
    #expect(both.text == "store-migrate: The steps ran: no room.")
    // The object says it, and behind it stands nothing that says otherwise.
    #expect(FinalMessage(failure: "x", isJSON: true, wasStopped: true).text == nil)
  }

  @Test(arguments: [true, false])
  func `a signal that stopped nothing is told, and without one there is nothing to say`(_ isJSON: Bool) {
    let late = FinalMessage(failure: nil, isJSON: isJSON, wasStopped: true)
    #expect(late.text == "store-migrate: The command was complete before it could be stopped.")
    #expect(FinalMessage(failure: nil, isJSON: isJSON, wasStopped: false).text == nil)
  }
}
