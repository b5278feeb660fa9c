// swift-tools-version: 6.2
// Libraries and tools of ObjectVault. The only dependencies are two system libraries, found by pkg-config:
// libsqlcipher and libcrypto. See the Makefile for what installs them.

import Foundation
import PackageDescription

// `make check` sets VAULT_CHECK, so that our own warnings fail the build without binding any dependent.
let isCheck = ProcessInfo.processInfo.environment["VAULT_CHECK"] != nil

let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (isCheck ? [.treatAllWarnings(as: .error)] : [])

let package = Package(
  name: "ObjectVault",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11)],
  products: [
    .library(name: "ObjectVault", targets: ["ObjectVault"]),
    .library(name: "CipherSQLite", targets: ["CipherSQLite"]),
    .library(name: "StoreMigrateKit", targets: ["StoreMigrateKit"]),
    .executable(name: "store-migrate", targets: ["store-migrate"]),
    .executable(name: "vault-demo", targets: ["vault-demo"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSQLCipher", pkgConfig: "sqlcipher",
      providers: [.apt(["libsqlcipher-dev"]), .brew(["sqlcipher"])]),
    .systemLibrary(
      name: "CLibCrypto", pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"]), .brew(["openssl"])]),
    .target(name: "CVaultShims"),
    .target(
      name: "CipherSQLite", dependencies: ["CSQLCipher", "CLibCrypto", "CVaultShims"],
      swiftSettings: settings),
    .target(
      name: "ObjectVault", dependencies: ["CipherSQLite", "CVaultShims"], swiftSettings: settings),
    .target(
      name: "StoreMigrateKit", dependencies: ["ObjectVault", "CipherSQLite"], swiftSettings: settings),
    .executableTarget(name: "store-migrate", dependencies: ["StoreMigrateKit"], swiftSettings: settings),
    .executableTarget(name: "vault-demo", dependencies: ["ObjectVault"], swiftSettings: settings),
    .target(
      name: "TestSupport", dependencies: ["CipherSQLite", "ObjectVault"], path: "Tests/TestSupport",
      swiftSettings: settings),
    .testTarget(
      name: "CipherSQLiteTests", dependencies: ["CipherSQLite", "TestSupport"], swiftSettings: settings),
  ]
)
