from moet_boot.cli.main import main

main()
