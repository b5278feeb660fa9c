// swift-tools-version: 6.2
// Benchmarks of ObjectVault against a hand-written loop over the engine. A package of its own, so that no
// user of the library builds it.

import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "ObjectVault", path: "..")],
  targets: [
    .systemLibrary(name: "CFloor", pkgConfig: "sqlcipher"),
    .executableTarget(
      name: "vault-bench",
      dependencies: [
        "CFloor", .product(name: "ObjectVault", package: "ObjectVault"),
        .product(name: "CipherSQLite", package: "ObjectVault"),
        .product(name: "StoreMigrateKit", package: "ObjectVault"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
  ]
)
